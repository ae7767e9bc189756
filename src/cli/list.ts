import type { StreamDefinition } from '../pipeline/define-stream.js'
import { MASTER } from '../pipeline/work.js'
import { listOutputFiles } from './files.js'
import { formatQuantity } from './format.js'
import { groupByPhase } from './phases.js'
import type { TextLine } from './terminal.js'
import { wrap } from './text.js'

/** All streams for people, by phase: workers, the stream that they follow, endpoints and files. */
export const listLines = (streams: readonly StreamDefinition[], columns: number): readonly TextLine[] =>
  groupByPhase(streams).flatMap(({ title, note, members }, index) => [
    ...(index === 0 ? [] : [[]]),
    [[title, 'bold'] as const, [` (${note})`, 'dim'] as const],
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
  return [[[`  ${name}`, 'cyan']], ...details.flatMap((detail) => wrap(`      ${detail}`, columns)).map((line): TextLine => [[line]])]
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
