#!/bin/sh
# DuckDB 1.5.6 (@duckdb/node-api 1.5.6-r.1), Linux x64.
#
# Each read_csv in a statement takes a buffer of 32,000,000 bytes (30.5 MiB), however small its file is, and
# counts it against memory_limit. A statement that reads a file of 8 bytes 60 times needs more than 1 GB and
# is refused ("could not allocate block of size 30.5 MiB"), with 110 MB in use by the process. Views that
# each read one small CSV add up the same way. With buffer_size the same statement needs almost nothing.
# Seen: 20 scans answer at memory_limit 1GB, 60 do not; with buffer_size=65536 and max_line_size=32768 they do.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund @duckdb/node-api@1.5.6-r.1
printf 'a,b\n1,2\n' >one.csv
cat >scan.mjs <<'JS'
import { DuckDBInstance } from '@duckdb/node-api'
const database = await DuckDBInstance.create(':memory:', { threads: '2', memory_limit: '1GB' })
const connection = await database.connect()
const scan = async (count, options = '') => {
  const one = `SELECT a FROM read_csv('one.csv'${options})`
  try {
    const result = await connection.runAndReadAll(Array(count).fill(one).join(' UNION ALL '))
    return `${result.getRows().length} rows`
  } catch (error) {
    return error.message.split('\n')[0].replace(/ \(.*/, '')
  }
}
const [{ v }] = (await connection.runAndReadAll('SELECT version() AS v')).getRowObjects()
const seen = [v, await scan(20), await scan(60), await scan(60, ', buffer_size=65536, max_line_size=32768')]
const expected = ['v1.5.6', '20 rows', 'Out of Memory Error: could not allocate block of size 30.5 MiB', '60 rows']
console.log(seen.join('\n'))
if (seen.join() !== expected.join()) {
  console.error(`changed; it was:\n${expected.join('\n')}`)
  process.exit(1)
}
JS
node scan.mjs
