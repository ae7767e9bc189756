import type { StreamDefinition } from '../pipeline/define-stream.js'
import { groupByPhase, listOutputFiles, type PhaseGroup } from '../pipeline/plan.js'
import type { AddCommand } from './dependencies.js'
import { succeed } from './dependencies.js'
import { exampleText } from './options.js'
import { formatQuantity } from './terminal/format.js'

export const addGraph: AddCommand = (program, { io, dependencies, act }) => {
  program
    .command('graph')
    .description('Prints the graph of a run as a Mermaid flowchart.')
    .addHelpText('after', exampleText([['scripstream graph > graph.mmd', 'the graph, for any Mermaid viewer']]))
    .action(() => act(succeed(() => io.stdout.write(formatGraph(dependencies.streams)))))
}

/**
 * The graph of a run as a Mermaid flowchart: phases as subgraphs, streams with their workers, endpoints and files, dotted lines from a
 * stream to the streams that use its rows, and the barriers.
 */
export const formatGraph = (streams: readonly StreamDefinition[]): string => {
  const phases = groupByPhase(streams)
  return [
    'flowchart LR',
    ...phases.flatMap(formatSubgraph),
    ...formatBarriers(phases.map(({ phase }) => phase)),
    ...streams.flatMap(({ name, work }) => (work.of === undefined ? [] : [`  ${toNodeId(work.of)} -. rows .-> ${toNodeId(name)}`])),
    ...streams.flatMap(formatOutput),
    '',
  ].join('\n')
}

const formatSubgraph = ({ phase, title, note, isSequential, members }: PhaseGroup): readonly string[] => [
  `  subgraph ${phase}["${escapeLabel(`${title} (${note})`)}"]`,
  ...members.map(
    ({ name, workers, endpoints }) =>
      `    ${toNodeId(name)}["${[
        name,
        formatQuantity(workers, 'worker'),
        ...endpoints.map(({ method, host, path }) => `${method} ${host} ${path}`),
      ]
        .map(escapeLabel)
        .join('<br/>')}"]`,
  ),
  ...(isSequential && members.length > 1 ? [`    ${members.map(({ name }) => toNodeId(name)).join(' --> ')}`] : []),
  '  end',
]

/** The first barrier waits for the first phase. The others run side by side, and the last barrier waits for all. */
const formatBarriers = ([first, ...later]: readonly string[]): readonly string[] => {
  if (first === undefined) return []
  const opening =
    later.length === 0 ? [] : [`  ${first} --> barrier_first{{"barrier"}}`, ...later.map((phase) => `  barrier_first --> ${phase}`)]
  return [
    ...opening,
    ...(later.length === 0 ? [first] : later).map((phase) => `  ${phase} --> barrier_last`),
    '  barrier_last{{"barrier"}} --> report(["run report"])',
  ]
}

const formatOutput = (stream: StreamDefinition): string =>
  `  ${toNodeId(stream.name)} --> ${toNodeId(stream.name)}_out[("${listOutputFiles(stream).map(escapeLabel).join('<br/>')}")]`

const toNodeId = (name: string): string => `s_${name.replace(/\W/g, '_')}`

const escapeLabel = (text: string): string => text.replace(/["<>&#]/g, (character) => `#${character.charCodeAt(0)};`)
