<?php
// SPDX-License-Identifier: BSD-2-Clause
//
// word-counts.php: a service need not be CGI.  POST of {"text": "...", "most": 10}: how many words the text has, and the most frequent ones.
//
//     CcnService /SCN/services/wordCounts text=text(48K) most=int(1..1000):10 => /services/word-counts.php fresh=1d

function wrong(int $status, string $sentence): never
{
    http_response_code($status);
    header('Content-Type: text/plain;charset=utf-8');
    header('Cache-Control: no-cache');
    echo $sentence, "\n";
    exit;
}

if ($_SERVER['REQUEST_METHOD'] !== 'POST') wrong(405, 'POST a JSON object.');
$asked = json_decode(file_get_contents('php://input', length: 1 << 20), true, 8);
if (!is_array($asked) || !is_string($asked['text'] ?? null)) wrong(422, 'The body must be a JSON object with a text.');
$most = $asked['most'] ?? 10;
if (!is_int($most) || $most < 1 || $most > 1000) wrong(422, 'most must be a number from 1 to 1000.');

$text = function_exists('mb_strtolower') ? mb_strtolower($asked['text'], 'UTF-8') : strtolower($asked['text']);
preg_match_all("/[\p{L}\p{N}]+(?:['\u{2019}-][\p{L}\p{N}]+)*/u", $text, $found);
$counts = array_count_values($found[0]);
// Of equally many the one that comes first in the alphabet: equal calls have equal results.
uksort($counts, fn($a, $b) => $counts[$b] <=> $counts[$a] ?: strcmp((string) $a, (string) $b));

header('Content-Type: application/json');
echo json_encode(['words' => count($found[0]), 'different' => count($counts), 'counts' => (object) array_slice($counts, 0, $most, true)],
    JSON_UNESCAPED_UNICODE | JSON_UNESCAPED_SLASHES), "\n";
