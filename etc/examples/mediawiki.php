<?php
// SPDX-License-Identifier: BSD-2-Clause
// MediaWiki tells the gateway who is signed in: at the end of LocalSettings.php, by require_once '/etc/fairgate/mediawiki.php';
$wgHooks['BeforePageDisplay'][] = function ($out) {
    $out->getRequest()->response()->header('Fairgate-Class: ' . ($out->getUser()->isRegistered() ? 'member' : '-'));
};
