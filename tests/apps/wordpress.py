# SPDX-License-Identifier: BSD-2-Clause
"""Debian's WordPress, unmodified, with settings, data and a database of its own.

    database = Database(lab).start()
    wordpress = WordPress(lab, database, port, workers=8)      .fpm, .site: arguments of Httpd
    wordpress.install(browser)                                 by its own form

Debian's wp-config.php reads its settings from /etc/wordpress.  PHP-FPM sees a folder of the lab there, in a mount namespace of its own.
"""
import copy
import json
import os
import subprocess
import threading

from lab import lab
from lab.browser import Browser
from lab.httpd import PhpFpm

HERE, CONTENT = "/usr/share/wordpress", "/var/lib/wordpress/wp-content"
THEME = "twentytwentythree"
EXTENSIONS = ("opcache", "mysqlnd", "mysqli", "ctype", "curl", "dom", "exif", "fileinfo", "iconv", "mbstring", "tokenizer", "xml", "xmlreader", "simplexml")
ADMIN, PASSWORD = "admin", "an unusual password"

# A plugin of the site: a job that is due every second, and the number of its runs.
PLUGIN = """<?php
add_filter('cron_schedules', function ($s) { $s['each_second'] = ['interval' => 1, 'display' => 'each second']; return $s; });
add_action('init', function () { if (!wp_installing() && !wp_next_scheduled('site_job')) wp_schedule_event(time(), 'each_second', 'site_job'); });
add_action('site_job', function () { update_option('site_job_runs', 1 + (int)get_option('site_job_runs', 0)); });
"""


class Database(lab.Server):
    """MariaDB with a socket only."""

    name = "mariadb"

    @property
    def socket(self):
        return self.path("socket")

    def configure(self):
        subprocess.run(["chown", "mysql", self.dir], check=True)
        subprocess.run(["mariadb-install-db", "--no-defaults", "--user=mysql", f"--datadir={self.path('data')}", "--auth-root-authentication-method=normal", "--skip-test-db", *self.small()],
                       check=True, capture_output=True, stdin=subprocess.DEVNULL)

    @staticmethod
    def small():
        return ["--innodb-log-file-size=4M", "--innodb-buffer-pool-size=16M", "--innodb-flush-log-at-trx-commit=0"]

    def argv(self):
        return ["/usr/sbin/mariadbd", "--no-defaults", "--user=mysql", f"--datadir={self.path('data')}", f"--socket={self.socket}", "--skip-networking", *self.small()]

    def ready(self):
        return self.run("SELECT 1", check=False).returncode == 0

    def run(self, statements, check=True):
        return subprocess.run(["mariadb", "--no-defaults", "-u", "root", "-S", self.socket, "-N", "-B"], input=statements, capture_output=True, text=True, check=check)


class WordPress:
    def __init__(self, of, database, port, workers):
        self.port = port
        etc, content = os.path.join(of.dir, "wordpress-etc"), os.path.join(of.dir, "wp-content")
        database.run("CREATE DATABASE wordpress CHARACTER SET utf8mb4; CREATE USER wordpress@localhost IDENTIFIED BY 'secret'; GRANT ALL ON wordpress.* TO wordpress@localhost;")
        os.mkdir(etc)
        os.makedirs(f"{content}/mu-plugins")
        os.makedirs(f"{content}/themes")
        os.makedirs(f"{content}/uploads")
        for there in (f"{CONTENT}/themes", f"{HERE}/wp-content/themes"):
            for name in os.listdir(there):
                if not os.path.lexists(f"{content}/themes/{name}"):
                    os.symlink(os.path.realpath(f"{there}/{name}"), f"{content}/themes/{name}")
        with open(f"{content}/mu-plugins/site.php", "w", encoding="utf-8") as f:
            f.write(PLUGIN)
        with open(f"{etc}/config-127.0.0.1.php", "w", encoding="utf-8") as f:
            f.write(f"<?php define('DB_NAME', 'wordpress'); define('DB_USER', 'wordpress'); define('DB_PASSWORD', 'secret'); define('DB_HOST', 'localhost:{database.socket}');\n"
                    f"define('WP_CONTENT_DIR', '{content}'); define('WP_HTTP_BLOCK_EXTERNAL', true); define('WP_CRON_LOCK_TIMEOUT', 1);\n"
                    + "".join(f"define('{name}', 'a phrase of this test for {name}');\n" for name in
                              ("AUTH_KEY", "SECURE_AUTH_KEY", "LOGGED_IN_KEY", "NONCE_KEY", "AUTH_SALT", "SECURE_AUTH_SALT", "LOGGED_IN_SALT", "NONCE_SALT")))
        subprocess.run(["chown", "-R", "www-data:www-data", content], check=True)
        self.fpm = PhpFpm(of, name="wordpress-fpm", workers=workers, extensions=EXTENSIONS)
        self.fpm.prefix = ("unshare", "-m", "sh", "-c", f'mount --bind {etc} /etc/wordpress && exec "$@"', "sh")
        self.fpm.start()
        self.site = {"htdocs": HERE, "php": self.fpm.address, "modules": ("log_config",), "config": f"""
            Alias /wp-content {content}
            <Directory {content}>
                Require all granted
            </Directory>
            DirectoryIndex index.php
            <Directory {HERE}>
                RewriteEngine On
                RewriteBase /
                RewriteCond %{{REQUEST_FILENAME}} !-f
                RewriteCond %{{REQUEST_FILENAME}} !-d
                RewriteRule . /index.php [L]
            </Directory>
            """}

    def install(self, b):
        form = {"weblog_title": "A site", "user_name": ADMIN, "admin_password": PASSWORD, "admin_password2": PASSWORD, "pw_weak": "on", "admin_email": "a@example.org", "Submit": "Install"}
        page = b.post("/wp-admin/install.php?step=2", form)
        assert page.status == 200 and "Success!" in page.text, page.text

    @staticmethod
    def sign_in(b):
        b.get("/wp-login.php")
        return b.post("/wp-login.php", {"log": ADMIN, "pwd": PASSWORD, "wp-submit": "Log In", "testcookie": "1", "redirect_to": "/wp-admin/"})

    @classmethod
    def administrator(cls, port, source):
        """A browser that is signed in, and may call the REST interface."""
        b = Browser(port, source=source)
        cls.sign_in(b)
        b.headers["X-WP-Nonce"] = b.get("/wp-admin/admin-ajax.php?action=rest-nonce").text
        return b

    @staticmethod
    def write(b, title, content):
        """A new post; its path."""
        page = b.ask("POST", "/wp-json/wp/v2/posts", json.dumps({"title": title, "content": content, "status": "publish"}), "application/json")
        assert page.status == 201, page.text
        return "/" + json.loads(page.text)["link"].split("/", 3)[3]


def health(b):
    """One check of WordPress's own health page: it sends a request to its own site and waits for the response."""
    page = copy.copy(b).get("/wp-json/wp-site-health/v1/tests/loopback-requests")
    return page.status, json.loads(page.text).get("status") if page.status == 200 else None


class HealthChecks:
    """An administrator's browser that makes one health check after another, until the block ends: .seen."""

    def __init__(self, port, source):
        self.b, self.seen, self.over = WordPress.administrator(port, source), [], threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)

    def run(self):
        while not self.over.is_set():
            self.seen.append(health(self.b))

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join(120)
        assert not self.thread.is_alive()
