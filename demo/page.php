<?php
// SPDX-License-Identifier: BSD-2-Clause
// A page that takes work: some five milliseconds of a processor, as a small content system's would, then ?n= bytes without a length.
$text = 'fairgate';
for ($i = 0; $i < 40000; $i++) {
    $text = md5($text);
}
$n = max(0, min((int)($_GET['n'] ?? 0), 16777216));
echo str_repeat($text, intdiv($n, 64));
flush();
echo str_repeat('x', $n - intdiv($n, 64) * strlen($text));
