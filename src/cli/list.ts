import { DAYS, MASTER, type StreamDefinition } from '../engine/define-stream.js'
import { groupByPhase, listOutputPatterns, type PhaseGroup } from '../engine/plan.js'
import type { AnyEndpoint } from '../http/endpoint.js'
import { defineCommand } from './command.js'
import { flag, jsonFlag } from './options.js'
import type { AnswerLine } from './terminal/terminal.js'
import { formatQuantity } from './terminal/text.js'

export const addList = defineCommand({
  name: 'list',
  about: 'Shows the streams: phases, workers, endpoints and outputs.',
  flags: () => ({
    graph: flag('--graph', 'print the graph of a run as a Mermaid flowchart'),
    json: jsonFlag(),
  }),
  examples: [
    ['scripstream list', 'every stream with its endpoints and files'],
    ['scripstream list --graph > graph.mmd', 'the graph, for any Mermaid viewer'],
  ],
  run: ({ graph }, { dependencies: { streams } }) => [
    graph ? { text: formatGraph(streams) } : { json: listDocument(streams), lines: () => listLines(streams) },
  ],
})

export const listLines = (streams: readonly StreamDefinition[]): readonly AnswerLine[] =>
  groupByPhase(streams).flatMap(({ title, note, members }, index): readonly AnswerLine[] => [
    ...(index === 0 ? [] : ['']),
    [
      [title, 'bold'],
      [` (${note})`, 'dim'],
    ],
    ...members.flatMap(streamLines),
  ])

const formatEndpoint = ({ method, host, path }: AnyEndpoint): string => `${method} ${host} ${path}`

const streamLines = (stream: StreamDefinition): readonly AnswerLine[] => {
  const { name, optional, summary, workers, work, endpoints } = stream
  const facts = [
    formatQuantity(workers, 'worker'),
    ...(work.of === undefined
      ? []
      : [work.of === DAYS ? 'an item for each of the last 31 days' : `follows ${work.of}`]),
    ...(name === MASTER ? ['the run stops if it fails'] : []),
    ...(optional ? [`optional: --with ${name}`] : []),
  ]
  const details = [
    summary,
    facts.join(', '),
    ...endpoints.map((endpoint) => `requests ${formatEndpoint(endpoint)}`),
    `writes ${listOutputPatterns(stream).join(', ')}`,
  ]
  return [[[`  ${name}`, 'cyan']], ...details.map((detail) => `      ${detail}`)]
}

export const listDocument = (streams: readonly StreamDefinition[]): readonly object[] =>
  groupByPhase(streams).flatMap(({ members }) =>
    members.map(
      ({ name, optional = false, summary, phase, workers, timeoutMs, work, endpoints, outputs }) => ({
        name,
        summary,
        phase,
        workers,
        timeoutMs,
        critical: name === MASTER,
        optional,
        follows: work.of ?? null,
        endpoints: endpoints.map(({ name, method, host, path }) => ({ name, method, host, path })),
        outputs: outputs.flatMap((output) =>
          listOutputPatterns({ work, outputs: [output] }).map((file) => ({ shape: output.shape, file })),
        ),
      }),
    ),
  )

/**
 * The graph of a run as a Mermaid flowchart: phases as subgraphs, streams with their workers, endpoints and
 * files, dotted lines from a stream to the streams that use its rows, and the barriers.
 */
export const formatGraph = (streams: readonly StreamDefinition[]): string => {
  const phases = groupByPhase(streams)
  return [
    'flowchart LR',
    ...phases.flatMap(formatSubgraph),
    ...formatBarriers(phases.map(({ phase }) => phase)),
    ...streams.flatMap(({ name, work }) =>
      work.of === undefined || work.of === DAYS
        ? []
        : [`  ${toNodeId(work.of)} -. rows .-> ${toNodeId(name)}`],
    ),
    ...streams.flatMap(formatOutput),
    '',
  ].join('\n')
}

const formatSubgraph = ({ phase, title, note, isSequential, members }: PhaseGroup): readonly string[] => [
  `  subgraph ${phase}["${escapeLabel(`${title} (${note})`)}"]`,
  ...members.map(({ name, workers, endpoints }) => {
    const lines = [name, formatQuantity(workers, 'worker'), ...endpoints.map(formatEndpoint)]
    return `    ${toNodeId(name)}["${lines.map(escapeLabel).join('<br/>')}"]`
  }),
  ...(isSequential && members.length > 1
    ? [`    ${members.map(({ name }) => toNodeId(name)).join(' --> ')}`]
    : []),
  '  end',
]

/**
 * The first barrier waits for the first phase. The others run side by side, and the last barrier waits for
 * all.
 */
const formatBarriers = ([first, ...later]: readonly string[]): readonly string[] => {
  if (first === undefined) return []
  const between = [
    `  ${first} --> barrier_first{{"barrier"}}`,
    ...later.map((phase) => `  barrier_first --> ${phase}`),
  ]
  return [
    ...(later.length === 0 ? [] : between),
    ...(later.length === 0 ? [first] : later).map((phase) => `  ${phase} --> barrier_last`),
    '  barrier_last{{"barrier"}} --> report(["run report"])',
  ]
}

const formatOutput = (stream: StreamDefinition): string =>
  `  ${toNodeId(stream.name)} --> ${toNodeId(stream.name)}_out[("${listOutputPatterns(stream).map(escapeLabel).join('<br/>')}")]`

const toNodeId = (name: string): string => `s_${name.replace(/\W/g, '_')}`

const escapeLabel = (text: string): string =>
  text.replace(/["<>&#]/g, (character) => `#${character.charCodeAt(0)};`)
