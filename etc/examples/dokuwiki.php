<?php
// SPDX-License-Identifier: BSD-2-Clause
// DokuWiki tells the gateway who is signed in: conf/local.protected.php.  That is read before the user is known, so it is said as the answer
// begins.  Style sheets and scripts have no user (NOSESSION): they say nothing.
header_register_callback(function () {
    if (!defined('NOSESSION')) header('Fairgate-Class: ' . (empty($_SERVER['REMOTE_USER']) ? '-' : 'member'));
});
