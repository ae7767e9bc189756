import { MASTER, type StreamDefinition } from '../pipeline/define-stream.js'
import { groupByPhase, listOutputFiles } from '../pipeline/plan.js'
import type { AddCommand } from './dependencies.js'
import { succeed } from './dependencies.js'
import { exampleText } from './options.js'
import { formatQuantity } from './terminal/format.js'
import { printJson, printLines } from './terminal/print.js'
import { readSize, type TextLine, wrapLines, wrapTitled } from './terminal/terminal.js'

const examples = [
  ['scripstream list', 'every stream with its endpoints and files'],
  ['scripstream list --json', 'the same as JSON'],
] as const

export const addList: AddCommand = (program, { io, dependencies, act }) => {
  const { streams } = dependencies
  const { stdout } = io
  program
    .command('list')
    .description('Shows the streams: phases, workers, endpoints and outputs.')
    .option('--json', 'print JSON on stdout')
    .addHelpText('after', exampleText(examples))
    .action(({ json }: { readonly json?: boolean }) =>
      act(
        succeed(() => {
          if (json) printJson(listDocument(streams), stdout)
          else printLines(listLines(streams, readSize(stdout).columns), stdout)
        }),
      ),
    )
}

/** All streams for people, by phase: workers, the stream that they follow, endpoints and files. */
export const listLines = (streams: readonly StreamDefinition[], columns: number): readonly TextLine[] =>
  groupByPhase(streams).flatMap(({ title, note, members }, index) => [
    ...(index === 0 ? [] : [[]]),
    ...wrapTitled([title, 'bold'], ` (${note})`, columns, 'dim'),
    ...members.flatMap((stream) => entryLines(stream, columns)),
  ])

const entryLines = (stream: StreamDefinition, columns: number): readonly TextLine[] => {
  const { name, summary, workers, work, endpoints } = stream
  const facts = [
    formatQuantity(workers, 'worker'),
    ...(work.of === undefined ? [] : [`follows ${work.of}`]),
    ...(name === MASTER ? ['the run stops if it fails'] : []),
  ]
  const details = [
    summary,
    facts.join(', '),
    ...endpoints.map(({ method, host, path }) => `requests ${method} ${host} ${path}`),
    `writes ${listOutputFiles(stream).join(', ')}`,
  ]
  return [[[`  ${name}`, 'cyan']], ...details.flatMap((detail) => wrapLines(`      ${detail}`, columns))]
}

/** All streams for programs. */
export const listDocument = (streams: readonly StreamDefinition[]): readonly object[] =>
  groupByPhase(streams).flatMap(({ members }) =>
    members.map(({ name, summary, phase, workers, timeoutMs, work, endpoints, outputs }) => ({
      name,
      summary,
      phase,
      workers,
      timeoutMs,
      critical: name === MASTER,
      follows: work.of ?? null,
      endpoints: endpoints.map((endpoint) => ({
        name: endpoint.name,
        method: endpoint.method,
        host: endpoint.host,
        path: endpoint.path,
      })),
      outputs: outputs.flatMap((output) => listOutputFiles({ work, outputs: [output] }).map((file) => ({ shape: output.shape, file }))),
    })),
  )
