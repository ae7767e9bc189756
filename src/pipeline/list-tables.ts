import { type Table, type TableFacts, type TableFiles, toColumns } from '../model/table.js'
import type { StreamDefinition } from './define-stream.js'
import type { Output } from './output.js'

/** The SQL tables over the outputs of streams, in display order. */
export const listTables = (streams: readonly Pick<StreamDefinition, 'work' | 'outputs'>[]): readonly Table[] =>
  streams
    .flatMap(({ work, outputs }) => outputs.flatMap((output) => (output.tables ?? []).map((facts) => ({ facts, output, work }))))
    .sort((one, other) => getPosition(one.facts) - getPosition(other.facts))
    .map(({ facts: { about, position, columns, ...facts }, output, work }) => ({
      ...facts,
      comment: about,
      shape: SHAPES[output.shape],
      files: listFiles(output, work),
      ...findItems(output),
      columns: columns.flatMap((part) => ('from' in part ? [part] : toColumns(part))),
    }))

const getPosition = ({ position = Number.MAX_SAFE_INTEGER }: TableFacts): number => position

const SHAPES: Readonly<Record<Output['shape'], Table['shape']>> = {
  'rows-in-one-file': 'array',
  'array-per-item': 'array',
  'document-per-item': 'document',
  'candles-per-item': 'candles',
  text: 'csv',
}

const ITEM = /\{(?!exch\})\w+\}/

/** The files of each part of the work, labelled with the part; or one path for all items. */
const listFiles = ({ file }: Output, { parts }: StreamDefinition['work']): readonly TableFiles[] =>
  parts.length === 0 || !ITEM.test(file)
    ? [{ path: file }]
    : parts.map(({ fileName }) => ({ path: file.replace(ITEM, () => fileName), label: fileName }))

/** The list that translates file names to symbols: of stocks for `{SYMBOL}`, of indices for `{INDEX}`. */
const findItems = ({ file }: Output): Pick<Table, 'items'> => {
  if (file.includes('{SYMBOL}')) return { items: 'stocks' }
  return file.includes('{INDEX}') ? { items: 'indices' } : {}
}
