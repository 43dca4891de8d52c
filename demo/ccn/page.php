<?php
// A page of n segments of 4 KB, made in ms milliseconds: another one each time.
usleep((int) $_GET['ms'] * 1000);
header('Content-Type: text/plain');
echo substr(str_repeat(hash('sha256', microtime()) . "\n", (int) $_GET['n'] * 64), 0, (int) $_GET['n'] * 4096 - 7);
