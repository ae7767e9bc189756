#!/usr/bin/env bash
# DuckDB reads a Parquet file that another process replaces by rename, the usual way to replace a file whole.
# One expects the rows of the old file or those of the new one: a reader that has a file open keeps it. But
# each thread of a scan opens the path anew, so that one SELECT returns rows of both, without an error: here
# min(v) = 1 and max(v) = 2 of two files that have only 1 or only 2. No error says so.
# Seen with @duckdb/node-api 1.4.0-r.2 and 1.5.6-r.1 on Linux: 1 of 20 to 120 replacements; with
# `SET threads = 1`, or through a hard link of one's own, never.
set -euo pipefail
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund @duckdb/node-api@1.5.6-r.1
cat >race.mjs <<'JS'
import { renameSync } from 'node:fs'
import { DuckDBInstance } from '@duckdb/node-api'

const open = async () => (await DuckDBInstance.create(':memory:', { threads: '4' })).connect()
const [writer, reader] = [await open(), await open()]
const replace = async (value) => {
  await writer.run(
    `COPY (SELECT ${value}::BIGINT AS v, repeat('x', 20) || range AS t FROM range(200000)) TO 'next' (FORMAT parquet)`,
  )
  renameSync('next', 't.parquet')
}
const LIMIT = 1500
let [replaced, reads, mixed, failed] = [0, 0, 0, 0]
await replace(1)
const writing = (async () => {
  while (mixed === 0 && replaced < LIMIT) await replace(1 + (++replaced % 2))
})()
while (mixed === 0 && replaced < LIMIT) {
  try {
    const [[low, high]] = (await reader.runAndReadAll(`SELECT min(v), max(v), max(t) FROM 't.parquet'`)).getRows()
    if (low !== high) mixed += 1
  } catch {
    failed += 1
  }
  reads += 1
}
await writing
console.log(`${reads} reads, ${replaced} replacements, ${failed} errors: ${mixed} with rows of both files`)
process.exit(mixed > 0 ? 0 : 1)
JS
node race.mjs || { echo 'CHANGED: no read had rows of both files'; exit 1; }
