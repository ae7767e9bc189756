import { formatGraph } from '../graph.js'
import { exampleText } from '../help.js'
import { printText } from '../print-text.js'
import type { AddCommand } from './context.js'

export const addGraph: AddCommand = (program, { io, dependencies, act }) => {
  program
    .command('graph')
    .description('Prints the graph of a run as a Mermaid flowchart.')
    .addHelpText('after', exampleText([['scripstream graph > graph.mmd', 'the graph, for any Mermaid viewer']]))
    .action(() => act(printText(io, () => formatGraph(dependencies.streams))))
}
