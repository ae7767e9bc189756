import type * as Sdk from '@modelcontextprotocol/server'
import type * as SdkStdio from '@modelcontextprotocol/server/stdio'
import { Observable } from 'rxjs'
import { formatError } from '../../model/errors.js'
import { requireOptional } from '../../model/optional-package.js'
import { defineCommand } from '../command.js'
import { describeInstall } from '../hints.js'
import { folderFlags } from '../options.js'
import { printWarning } from '../terminal/terminal.js'
import { clean, cut } from '../terminal/text.js'
import { addTools, INSTRUCTIONS, type ToolRunner, tools } from './tools.js'

const PACKAGE = '@modelcontextprotocol/server'

export const addMcp = defineCommand({
  name: 'mcp',
  about: 'Lets an agent query the collected files: a read-only MCP server on stdin and stdout.',
  flags: () => folderFlags('output folder (default: ./data); an agent needs the full path'),
  examples: [
    ['scripstream mcp --out /srv/market', 'what an agent starts, by its configuration'],
    ['scripstream mcp --config /srv/scripstream.config.json', 'with the folder that the settings name'],
  ],
  notes: [
    'Speaks MCP on stdin and stdout, and ends when stdin is closed. In the configuration of an agent, in an entry of "mcpServers":',
    '"command": "scripstream", "args": ["mcp", "--out", "/srv/market"]',
    `Its tools only read the folder: ${Object.keys(tools).join(', ')}. Needs packages: ${describeInstall([PACKAGE, '@duckdb/node-api'])}`,
  ],
  endsBySignal: true,
  run: (_, { io, dependencies, settings: load }) => {
    const settings = load()
    const { out, exchange } = settings
    const callTool: ToolRunner = async (...call) =>
      (await import('../answer-process.js')).createAnswerProcesses(settings).callTool(...call)
    const missing = 'the MCP server package is not installed'
    const { McpServer } = requireOptional<typeof Sdk>(PACKAGE, missing)
    const { serveStdio, StdioServerTransport } = requireOptional<typeof SdkStdio>(
      `${PACKAGE}/stdio`,
      missing,
      PACKAGE,
    )
    if (io.stdin.isTTY)
      io.stderr.write('Waiting for MCP messages on stdin; agents start this command. Press Ctrl+C to stop.\n')
    const createServer = (): Sdk.McpServer => {
      const server = new McpServer(
        { name: 'scripstream', version: dependencies.version },
        { instructions: INSTRUCTIONS },
      )
      addTools(server, { out, exchange, streams: dependencies.streams }, callTool)
      return server
    }
    return new Observable<number>((subscriber) => {
      const transport = new StdioServerTransport()
      const onerror = (error: Error): void =>
        printWarning(cut(`mcp: ${clean(formatError(error))}`, 200), io.stderr)
      const { close } = serveStdio(createServer, { transport, onerror })
      const { onclose } = transport
      transport.onclose = () => {
        onclose?.()
        subscriber.next(0)
        subscriber.complete()
      }
      return () => void close()
    })
  },
})
