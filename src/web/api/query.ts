import type { DisplayedColumn } from '../../tables/column-display.js'

/** `GET /api/queries` */
export interface QueriesAnswer {
  readonly queries: readonly {
    readonly name: string
    readonly about: string
    readonly sql: string
    readonly isSaved: boolean
  }[]
  readonly tables: readonly {
    readonly name: string
    readonly about: string
    readonly columns: readonly string[]
  }[]
}

/** `POST /api/query` */
export interface QueryRequest {
  readonly sql: string
  /** Rows at most. */
  readonly limit?: number
  /** Tables are read as they stood on this day, `YYYY-MM-DD`. */
  readonly day?: string
}

export interface QueryAnswer {
  readonly columns: readonly DisplayedColumn[]
  /** Cells as exact text; null for NULL. */
  readonly rows: readonly (readonly (string | null)[])[]
  /** Whether there are more rows than the limit. */
  readonly isCut: boolean
  readonly ms: number
  /** Which records answer as of a day, where they are not of that day or were not collected on it. */
  readonly answers?: readonly string[]
  /** Recorded days that are damaged and left out. */
  readonly warnings?: readonly string[]
}
