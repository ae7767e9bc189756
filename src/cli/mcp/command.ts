import type * as Sdk from '@modelcontextprotocol/server'
import type * as SdkStdio from '@modelcontextprotocol/server/stdio'
import { defer, map, Observable } from 'rxjs'
import { formatError } from '../../model/errors.js'
import { requireOptional } from '../../model/optional-package.js'
import type { AddCommand, Command } from '../dependencies.js'
import { describeInstall } from '../install.js'
import { exampleText, type FolderFlags, withFolderOptions } from '../options.js'
import { resolveSettings } from '../provider.js'
import { toExitCode, untilSignal } from '../signals.js'
import { printWarning } from '../terminal/print.js'
import { clean, cut } from '../terminal/text.js'
import { addTools, INSTRUCTIONS, type ToolRunner } from './tools.js'

const PACKAGE = '@modelcontextprotocol/server'

const examples = [
  ['scripstream mcp --out /srv/market', 'what an agent starts, by its configuration'],
  ['scripstream mcp --config /srv/scripstream.config.json', 'with the folder that the settings name'],
] as const

const createNote = (): string => `
Speaks MCP on stdin and stdout, and ends when stdin is closed. In the
configuration of an agent, in an entry of "mcpServers":
"command": "scripstream", "args": ["mcp", "--out", "/srv/market"]

Its tools only read the folder: tables, query, show, changes. Needs packages:
${describeInstall([PACKAGE, '@duckdb/node-api'])}

Exit codes:
  0              stdin was closed
  2              wrong usage or configuration, or the package is not installed
  130, 143, 129  interrupted by Ctrl+C, TERM or a closed terminal
`

export const addMcp: AddCommand = (program, { io, dependencies, act }) => {
  withFolderOptions(
    program.command('mcp').description('Lets an agent query the collected files: a read-only MCP server on stdin and stdout.'),
    'output folder (default: ./data); an agent needs the full path',
  )
    .addHelpText('after', () => exampleText(examples) + createNote())
    .action((flags: FolderFlags) => act(mcpCommand(flags, io, dependencies)))
}

/** Serves the tools until stdin is closed. */
const mcpCommand: Command<FolderFlags> = (flags, io, dependencies) =>
  defer(() => {
    const settings = resolveSettings(flags, io, dependencies)
    const { out, exchange } = settings
    const callTool: ToolRunner = async (...call) => (await import('../answer-process.js')).createAnswerProcesses(settings).callTool(...call)
    const missing = 'the MCP server package is not installed'
    const { McpServer } = requireOptional<typeof Sdk>(PACKAGE, missing)
    const { serveStdio, StdioServerTransport } = requireOptional<typeof SdkStdio>(`${PACKAGE}/stdio`, missing, PACKAGE)
    if (io.stdin.isTTY) io.stderr.write('Waiting for MCP messages on stdin; agents start this command. Press Ctrl+C to stop.\n')
    const createServer = (): Sdk.McpServer => {
      const server = new McpServer({ name: 'scripstream', version: dependencies.version }, { instructions: INSTRUCTIONS })
      addTools(server, { out, exchange, streams: dependencies.streams }, callTool)
      return server
    }
    return new Observable<number>((subscriber) => {
      const transport = new StdioServerTransport()
      const onerror = (error: Error): void => printWarning(cut(`mcp: ${clean(formatError(error))}`, 200), io.stderr)
      const { close } = serveStdio(createServer, { transport, onerror })
      const { onclose } = transport
      transport.onclose = () => {
        onclose?.()
        subscriber.next(0)
        subscriber.complete()
      }
      return () => void close()
    })
  }).pipe(
    untilSignal(io.signal$),
    map((end) => (typeof end === 'string' ? toExitCode(end) : end)),
  )
