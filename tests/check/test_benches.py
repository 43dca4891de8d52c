# SPDX-License-Identifier: BSD-2-Clause
"""All benches stand in one frame; and what bench/, demo/ and tests/ may know of each other is tests/lab."""
import os
import pathlib
import re
import subprocess

import pytest

TOP = pathlib.Path(__file__).resolve().parents[2]
BENCHES = sorted(p.parent.name for p in TOP.glob("bench/*/run"))


def bench(*words):
    # What the system's modules are compiled to lies beside them, not where tests/run keeps ours.
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPYCACHEPREFIX"}
    return subprocess.run([TOP / "bench" / "run", *words], env={**environment, "PYTHONDONTWRITEBYTECODE": "1"}, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("name", BENCHES)
def test_a_bench_by_its_name(name):
    r = bench(name, "--help")
    assert r.returncode == 0 and f"bench/{name}/run" in r.stdout, r.stderr
    assert set(re.findall(r"^  (--\w+)", r.stdout, re.M)) == {"--quick", "--only", "--out", "--build"}


# What a gateway before a site of strangers is judged by.
GATEWAY = """aborts_leaked asn_p95_ratio bots_live_s bytes_share_error_for_time dear_alone_ratio dear_slot_due_ratio forged_admitted graceful_failed h2_share_error hung_backend_p95_ratio
    many_connections_p95_ratio many_connections_rate_ratio observe_cpu_ratio observe_prediction_points refused_ms_p99 replay_10m_s seven_share_error_files seven_share_error_php
    step_p99_settle_ms swarm_chromium_load swarm_first_page_3s swarm_member_p95_ratio swarm_page_load_1_25x swarm_page_load_10x swarm_sign_in_refused time_share_error_max
    uncontended_time_cpu_ratio verify_us worst_mix_due_ratio""".split()


def test_the_gateway_is_measured_whole():
    r = bench("gateway", "--only", "nothing")
    assert r.returncode == 2
    there = r.stderr.split("there are: ")[1].strip().split(", ")
    assert not set(GATEWAY) - set(there)
    cases = "dear_alone_ratio", "hung_backend_p95_ratio", "many_connections_p95_ratio", "swarm_member_p95_ratio", "swarm_first_page_3s"
    assert {f"{case}_{peer}" for case in cases for peer in ("haproxy", "nginx", "mod_qos")} < set(there)


# What the access gateway is judged by.
FQRS = """added_latency_ms auto_queue_ratio_max auto_utilisation_min connect_isp_queue_median_kb connect_isp_queue_p95_kb connect_jain_1s connect_jain_5s connect_share_error_max connect_utilisation
    connect_utilisation_20mbit drops_ratio idle_tunnels_cpu_ratio idle_tunnels_slots isp_queue_median_kb isp_queue_p95_kb jain_1s jain_5s longest_gap_s loopback_throughput_ratio mixed_share_error_max
    open_mean_ratio_shortest open_p99_ratio_shortest reconfigure_lost share_error_max small_p95_ratio smp_share_error_max utilisation utilisation_1gbit utilisation_20mbit weblog_longest_stall_s
    weblog_memory_growth weblog_slots_leaked within_client_error worker_kill_others_failed worker_kill_recovery_s_max worker_kill_slots_leaked""".split()


def test_the_access_gateway_is_measured_whole():
    r = bench("fqrs", "--only", "nothing")
    assert r.returncode == 2
    assert not set(FQRS) - set(r.stderr.split("there are: ")[1].strip().split(", "))


def test_a_figure_that_is_not_there():
    r = bench("core", "--only", "nothing")
    assert r.returncode == 2 and 'there is no "nothing"; there are: ' in r.stderr


@pytest.mark.parametrize("words", [(), ("nothing",), ("lib",)])
def test_a_bench_that_is_not_there(words):
    r = bench(*words)
    assert r.returncode == 2 and f"NAME: {', '.join(BENCHES)}" in r.stderr


@pytest.mark.parametrize("folder,stranger", [("demo", "bench"), ("demo", "system"), ("bench", "system"), ("tests/lab", "system"), ("tests/lab", "bench")])
def test_nobody_reaches_into_the_other(folder, stranger):
    """Who wants modules of a folder puts its name into a path."""
    files = [p for p in (TOP / folder).rglob("*") if p.suffix == ".py" or p.name == "run"]
    assert files
    bad = [str(p.relative_to(TOP)) for p in files if f'"{stranger}"' in p.read_text()]
    assert not bad
