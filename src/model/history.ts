/** A file whose whole content belongs to the history: a list over all items, or one part of the work. */
export interface RecordedFile {
  readonly stream: string
  /** Relative to the output folder. */
  readonly file: string
  /** Whether a run of some stocks updates only a part of it. */
  readonly isPerItem: boolean
}

/** Files of items, of whose records the history keeps when they appeared. */
export interface RecordedDocuments {
  /** Relative to the output folder, with `*` for the name of an item. */
  readonly pattern: string
  /** The keys of a document that contain records. */
  readonly lists: readonly string[]
  /** The keys of a record whose texts identify it in its file. */
  readonly identity: readonly string[]
}

/** What the history keeps of a run. */
export interface HistoryRequest {
  readonly files: readonly RecordedFile[]
  readonly documents: readonly RecordedDocuments[]
}
