import type { Row } from '../model/row.js'
import { collectRecords, takeEnds } from './required-fields.js'
import { isContainer, joinPath, type KnownField, type ShapeNode } from './shape-node.js'

/** A field is gone if this share of the answers lacks it, */
const MIN_SHARE = 0.95
/** and this many answers were seen, */
const MIN_ANSWERS = 5
/** or a list with this many records. */
const MIN_RECORDS = 10

/** A field that (nearly) all answers of the run lack. */
export interface LackingField<Layout> {
  readonly field: KnownField<Layout>
  readonly path: string
  /** Absent, or present without a value. */
  readonly kind: 'gone' | 'null'
  /** Answers without the field, of all answers with records. */
  readonly lacking: number
  readonly answers: number
  /** Records of the samples of these answers, of all samples. */
  readonly lackingRecords: number
  readonly records: number
  readonly example: string
}

interface Presence<Layout> extends Omit<LackingField<Layout>, 'path' | 'kind'> {
  answers: number
  lacking: number
  records: number
  lackingRecords: number
  /** All records of the answers without the field. */
  readCompletely: number
  isNull: boolean
  example: string
}

interface RecordPath<Layout> {
  readonly steps: readonly string[]
  readonly node: ShapeNode<Layout>
  readonly fields: readonly Presence<Layout>[]
}

/**
 * Judges over all answers of a run whether a field is gone that single records may lack (`~`), and whether a `key` has no value in any
 * record. No single answer shows that: one stock may lack what the others have.
 */
export const createPresenceCheck = <Layout>(root: ShapeNode<Layout>) => {
  const paths = findPaths(root)
  const observe = (answer: unknown, item: string): void => {
    for (const { steps, fields } of paths) {
      const sample = collectRecords(answer, steps, takeEnds)
      if (sample.length === 0) continue
      let all: readonly Row[] | undefined
      for (const presence of fields) {
        presence.answers += 1
        presence.records += sample.length
        if (sample.some((record) => hasField(record, presence.field))) continue
        all ??= collectRecords(answer, steps, (list) => list)
        if (all.some((record) => hasField(record, presence.field))) continue
        if (presence.lacking === 0) presence.example = item
        presence.lacking += 1
        presence.lackingRecords += sample.length
        presence.readCompletely += all.length
        presence.isNull ||= all.some((record) => record[presence.field.name] !== undefined)
      }
    }
  }
  /** `others`: answers that had all fields and were not observed. */
  const list = (others: number): readonly LackingField<Layout>[] =>
    paths.flatMap(({ node, fields }) =>
      fields
        .filter((presence) => isLacking(presence, fields, others))
        .map((presence) => ({ ...presence, path: joinPath(node, presence.field.name), kind: presence.isNull ? 'null' : 'gone' })),
    )
  return { observe, list }
}

const findPaths = <Layout>(node: ShapeNode<Layout>, steps: readonly string[] = []): readonly RecordPath<Layout>[] => {
  const known = [...node.known.values()]
  const fields = known
    .filter((field) => mayBeGone(field) || mayLackValues(field))
    .map((field) => ({
      ...{ field, answers: 0, lacking: 0, records: 0, lackingRecords: 0 },
      ...{ readCompletely: 0, isNull: false, example: '' },
    }))
  return [
    ...(fields.length === 0 ? [] : [{ steps, node, fields }]),
    ...known.flatMap(({ name, inner }) => (inner === undefined ? [] : findPaths(inner, [...steps, name]))),
  ]
}

/** Other absent fields count per answer: either they are drift, or they are optional. */
const mayBeGone = <Layout>({ isUsual }: KnownField<Layout>): boolean => isUsual

/** A required key without a value is refused per answer. */
const mayLackValues = <Layout>(field: KnownField<Layout>): boolean =>
  field.isExpected && !field.mayBeNull && !field.isRequired && !isContainer(field)

const hasField = <Layout>(record: Row, field: KnownField<Layout>): boolean => {
  const value = record[field.name]
  if (value === undefined) return !mayBeGone(field)
  return !mayLackValues(field) || (value !== null && value !== '')
}

/** One answer is judged by itself only if it is a list, and if an absent field is the exception among the fields that may be absent. */
const isLacking = <Layout>(presence: Presence<Layout>, siblings: readonly Presence<Layout>[], others: number): boolean => {
  const { answers, lacking, readCompletely, isNull } = presence
  if (lacking === 0 || lacking < (answers + others) * MIN_SHARE) return false
  if (answers >= MIN_ANSWERS) return true
  const optional = siblings.filter(({ field }) => mayBeGone(field))
  const present = optional.filter((other) => other.lacking < other.answers)
  return readCompletely >= MIN_RECORDS && (isNull || present.length * 2 >= optional.length)
}
