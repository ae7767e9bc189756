#!/usr/bin/env node
// An old Node must be able to read this file: no modules and no new syntax before the check of the version.
'use strict'

var LEAST = [20, 19]
var found = process.versions.node.split('.').map(Number)

/** Stores the compiled code for the next start, from Node 22.8 on. */
function storeCompiledCode() {
  var enable = require('node:module').enableCompileCache
  if (enable) enable()
}

if (found[0] > LEAST[0] || (found[0] === LEAST[0] && found[1] >= LEAST[1])) {
  storeCompiledCode()
  void import('./main.js')
} else {
  console.error(
    'error: scripstream needs Node ' +
      LEAST.join('.') +
      ' or newer; this is ' +
      process.versions.node +
      ' (' +
      process.execPath +
      ')\n' +
      'Install a newer one from https://nodejs.org, or with a version manager: nvm install --lts',
  )
  process.exitCode = 2
}
