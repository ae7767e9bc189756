import { cpSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { temporaryFolder } from '../support/folders.js'
import { type Packed, pack, ROOT, run } from './packed.js'

let packed: Packed
beforeAll(() => {
  packed = pack()
})
afterAll(() => packed.remove())

/**
 * The command as it lies in a folder of modules, with a package.json beside that unless it is installed
 * globally.
 */
const installIn = (modules: string, isGlobal: boolean): string => {
  cpSync(join(packed.project, 'node_modules/scripstream'), join(modules, 'scripstream'), { recursive: true })
  if (!isGlobal) writeFileSync(join(dirname(modules), 'package.json'), '{}')
  return join(modules, 'scripstream/dist/bundle/cli/scripstream.cjs')
}

describe('an optional package', () => {
  it.each([
    ['globally', 'lib/node_modules', true, 'npm install -g @duckdb/node-api'],
    ['in a project', 'node_modules', false, 'npm install @duckdb/node-api'],
    ['by npx', '_npx/0a1b/node_modules', false, 'npx -p scripstream -p @duckdb/node-api scripstream …'],
  ])(
    'is named with the command that installs it if scripstream is installed %s; one in the current folder is used',
    (_, modules, isGlobal, install) => {
      const command = installIn(join(temporaryFolder(), modules), isGlobal)
      const cwd = temporaryFolder()
      expect(run([command, 'run', '--simulate=2', '--quiet', '--only', 'master-data'], cwd)).toEqual({
        status: 0,
        output: '',
      })
      const query = [command, 'query', '--format', 'csv', 'select count(*) as stocks from master']
      expect(run(query, cwd)).toEqual({ status: 2, output: `error: DuckDB is not installed: ${install}\n` })
      expect(run([command, 'export', '--help'], cwd).output).toContain(`Needs packages: ${install}\n`)
      expect(run([command, 'run', '--simulate=2', '--metrics', '1'], cwd).output).toContain(
        `: ${install.replace('@duckdb/node-api', 'prom-client')}\n`,
      )
      expect(run([command, 'mcp'], cwd)).toEqual({
        status: 2,
        output: `error: the MCP server package is not installed: ${install.replace('@duckdb/node-api', '@modelcontextprotocol/server')}\n`,
      })
      mkdirSync(join(cwd, 'node_modules/@duckdb'), { recursive: true })
      symlinkSync(join(ROOT, 'node_modules/@duckdb/node-api'), join(cwd, 'node_modules/@duckdb/node-api'))
      expect(run(query, cwd)).toEqual({ status: 0, output: 'stocks\n2\n' })
      expect(run([command, 'export', '--to', 'master.xlsx'], cwd)).toEqual({
        status: 2,
        output: `error: write-excel-file is not installed: ${install.replace('@duckdb/node-api', 'write-excel-file')}\n`,
      })
    },
  )

  it('that cannot be loaded is reported with the reason', () => {
    const command = installIn(join(temporaryFolder(), 'node_modules'), false)
    const cwd = temporaryFolder()
    mkdirSync(join(cwd, 'node_modules/prom-client'), { recursive: true })
    writeFileSync(join(cwd, 'node_modules/prom-client/index.js'), 'throw new Error("it is broken")')
    const { status, output } = run([command, 'run', '--simulate=2', '--metrics', '1'], cwd)
    expect(status).toBe(2)
    expect(output).toContain('error: cannot load prom-client (it is broken): npm install prom-client\n')
  })
})
