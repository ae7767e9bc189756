import { jsonText } from '../../model/json-text.js'
import { exampleText } from '../help.js'
import { listDocument, listLines } from '../list.js'
import { printed } from '../printed.js'
import { paintLine, sizeOf } from '../terminal.js'
import type { AddCommand } from './context.js'

const examples = [
  ['scripstream list', 'every stream with its endpoints and files'],
  ['scripstream list --json', 'the same as JSON'],
] as const

export const addList: AddCommand = (program, { io, dependencies, act }) => {
  const forPeople = (): string =>
    listLines(dependencies.streams, sizeOf(io.stdout).columns)
      .map((line) => `${paintLine(line, Number.POSITIVE_INFINITY, io.stdout)}\n`)
      .join('')
  program
    .command('list')
    .description('Shows the streams: phases, workers, endpoints and outputs.')
    .option('--json', 'print JSON on stdout')
    .addHelpText('after', exampleText(examples))
    .action(({ json }: { readonly json?: boolean }) =>
      act(printed(io, () => (json ? `${jsonText(listDocument(dependencies.streams), 2)}\n` : forPeople()))),
    )
}
