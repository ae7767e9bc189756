import { isRow, type Row } from '../model/row.js'
import { countRecords, countWrongKind, type DriftLog, type FieldLayout, findEntry, type Node, toDriftFacts } from './drift-log.js'
import { joinPath, toKindBit } from './shape-node.js'

const MAX_LAYOUTS = 200

/** Checks the first, the middle and the last record of a list, or a single record. */
export const checkSample = (log: DriftLog, node: Node, value: unknown): void => {
  if (!Array.isArray(value)) checkValue(log, node, value)
  else if (value.length > 0) {
    checkValue(log, node, value[0])
    if (value.length > 2) checkValue(log, node, value[value.length >> 1])
    if (value.length > 1) checkValue(log, node, value[value.length - 1])
  }
}

const checkValue = (log: DriftLog, node: Node, value: unknown): void => {
  if (isRow(value)) checkRecord(log, node, value)
  else if (value !== null) countWrongKind(log, { field: node.path, expected: 'record', node }, value)
}

const checkRecord = (log: DriftLog, node: Node, row: Row): void => {
  if (node.last !== log.answer) {
    node.last = log.answer
    node.answers += 1
  }
  node.records += 1
  const layout = matchesLayout(row, node.usual) ? node.usual : findLayout(log, node, Object.keys(row))
  node.usual = layout
  const { names, fields, drifts } = layout
  for (let index = 0; index < names.length; index += 1) {
    const field = fields[index]
    if (field === undefined) continue
    const value = row[field.name]
    const bit = toKindBit(value)
    if ((bit & ~field.mask) !== 0) countWrongKind(log, toDriftFacts(node, 'type', field), value)
    else if (field.inner !== undefined && bit !== 0) checkSample(log, field.inner, value)
  }
  for (const entry of drifts) countRecords(log, entry)
}

const matchesLayout = (row: Row, layout: FieldLayout | undefined): layout is FieldLayout => {
  if (layout === undefined) return false
  let index = 0
  for (const name in row) if (layout.names[index++] !== name) return false
  return index === layout.names.length
}

const findLayout = (log: DriftLog, node: Node, names: readonly string[]): FieldLayout => {
  const key = names.join('\n')
  const known = node.layouts.get(key)
  if (known) return known
  const layout = createLayout(log, node, names)
  if (node.layouts.size >= MAX_LAYOUTS) node.layouts.clear()
  node.layouts.set(key, layout)
  return layout
}

const createLayout = (log: DriftLog, node: Node, names: readonly string[]): FieldLayout => {
  const fields = names.map((name) => node.known.get(name))
  const fresh = names.filter((_, index) => fields[index] === undefined)
  const missing = [...node.known.values()].filter(({ name, isExpected, isUsual }) => isExpected && !isUsual && !names.includes(name))
  const drifts = [
    ...fresh.map((name) => findEntry(log, { kind: 'new', field: joinPath(node, name), node })),
    ...missing.map((field) => findEntry(log, toDriftFacts(node, 'gone', field))),
  ].filter((entry) => entry !== undefined)
  return { names, fields, drifts }
}
