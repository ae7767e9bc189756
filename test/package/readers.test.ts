import { execFileSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { lastValueFrom } from 'rxjs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { listTables } from '../../src/engine/define-stream.js'
import { listColumnNames } from '../../src/model/table.js'
import { wholeLake } from '../../src/tables/lake/whole-lake.js'
import { listViews } from '../../src/tables/views/index.js'
import { streams } from '../../streams/registry.js'
import { collected, duckdb } from '../tables/support.js'

const FOLDER = join(import.meta.dirname, 'readers')
const READERS = ['duckdb-oldest', 'duckdb-newest', 'hyparquet', 'parquet-wasm']

const place = mkdtempSync(join(tmpdir(), 'scripstream-readers-'))
/** Whether the packages of the readers could be installed: that takes a registry. */
const isInstalled = ((): boolean => {
  cpSync(FOLDER, place, { recursive: true })
  try {
    execFileSync('npm', ['install', '--no-audit', '--no-fund', '--prefer-offline'], {
      cwd: place,
      stdio: 'ignore',
      env: { ...process.env, npm_config_cache: join(place, 'cache') },
    })
    return true
  } catch {
    return false
  }
})()

describe.skipIf(!(duckdb && isInstalled))(
  `the lake, in ${READERS.join(', ')}${isInstalled ? '' : ' (their packages could not be installed)'}`,
  () => {
    let [out, remove] = ['', (): void => undefined]
    const seen = new Map<string, Readonly<Record<string, string>>>()
    beforeAll(async () => {
      ;({ out, remove } = await collected(20, 300))
      await lastValueFrom(wholeLake({ streams }).write(out))
      for (const reader of READERS)
        seen.set(
          reader,
          JSON.parse(
            execFileSync(process.execPath, ['hash-columns.mjs', reader, join(out, 'lake')], {
              cwd: place,
              encoding: 'utf8',
            }),
          ),
        )
    })
    afterAll(() => {
      remove()
      rmSync(place, { recursive: true, force: true })
    })

    it('has every column of every table and view', () => {
      const tables = listTables(streams)
      const columns = [...tables, ...listViews(tables)].flatMap((one) =>
        listColumnNames(one).map((column) => `${one.name}.${column}`),
      )
      expect(Object.keys(seen.get('duckdb-newest') ?? {})).toEqual(expect.arrayContaining(columns))
    })

    it.each(READERS)('has the same rows and values in each column, read by %s', (reader) =>
      expect(seen.get(reader)).toEqual(seen.get('duckdb-newest')),
    )

    it('is said in the guide with the versions that were tried', () => {
      const { dependencies } = JSON.parse(readFileSync(join(FOLDER, 'package.json'), 'utf8'))
      const versions = READERS.map((reader) => /\d+\.\d+\.\d+/.exec(dependencies[reader])?.[0])
      const guide = readFileSync(join(import.meta.dirname, '../../src/tables/README.md'), 'utf8')
      expect(guide).toContain(
        `DuckDB ${versions[0]} and ${versions[1]}, hyparquet ${versions[2]}, parquet-wasm ${versions[3]}`,
      )
    })
  },
)
