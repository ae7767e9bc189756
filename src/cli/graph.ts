import type { StreamDefinition } from '../pipeline/define-stream.js'
import { filesOf } from './files.js'
import { formatQuantity } from './format.js'
import { byPhase, type PhaseOfStreams } from './phases.js'

/**
 * The graph of a run as a Mermaid flowchart: phases as subgraphs, streams with their workers, endpoints and files, dotted lines from a
 * stream to the streams that use its rows, and the barriers.
 */
export const graphOf = (streams: readonly StreamDefinition[]): string => {
  const phases = byPhase(streams)
  return [
    'flowchart LR',
    ...phases.flatMap(subgraphOf),
    ...barriersOf(phases.map(({ phase }) => phase)),
    ...streams.flatMap(({ name, work }) => (work.of === undefined ? [] : [`  ${idOf(work.of)} -. rows .-> ${idOf(name)}`])),
    ...streams.flatMap(outputOf),
    '',
  ].join('\n')
}

const subgraphOf = ({ phase, title, note, members }: PhaseOfStreams): readonly string[] => [
  `  subgraph ${phase}["${label(`${title} (${note})`)}"]`,
  ...members.map(
    ({ name, workers, endpoints }) =>
      `    ${idOf(name)}["${[
        name,
        formatQuantity(workers, 'worker'),
        ...endpoints.map(({ method, host, path }) => `${method} ${host} ${path}`),
      ]
        .map(label)
        .join('<br/>')}"]`,
  ),
  ...(phase === 'core' && members.length > 1 ? [`    ${members.map(({ name }) => idOf(name)).join(' --> ')}`] : []),
  '  end',
]

/** The first barrier waits for the first phase. The others run side by side, and the last barrier waits for all. */
const barriersOf = ([first, ...later]: readonly string[]): readonly string[] => {
  if (first === undefined) return []
  const opening =
    later.length === 0 ? [] : [`  ${first} --> barrier_first{{"barrier"}}`, ...later.map((phase) => `  barrier_first --> ${phase}`)]
  return [
    ...opening,
    ...(later.length === 0 ? [first] : later).map((phase) => `  ${phase} --> barrier_last`),
    '  barrier_last{{"barrier"}} --> report(["run report"])',
  ]
}

const outputOf = (stream: StreamDefinition): string =>
  `  ${idOf(stream.name)} --> ${idOf(stream.name)}_out[("${filesOf(stream).map(label).join('<br/>')}")]`

const idOf = (name: string): string => `s_${name.replace(/\W/g, '_')}`

const label = (text: string): string => text.replace(/["<>&#]/g, (character) => `#${character.charCodeAt(0)};`)
