/** A number known by its bounds; both are the same if it is exact. */
export interface Span {
  readonly least: number
  readonly most: number
}

export const NONE: Span = { least: 0, most: 0 }

export const plus = (one: Span, other: Span): Span => ({ least: one.least + other.least, most: one.most + other.most })

export const sumOf = (all: Iterable<Span>): Span => [...all].reduce(plus, NONE)

/** The maximum of each bound. */
export const longest = (all: Iterable<Span>): Span =>
  [...all].reduce((one, other) => ({ least: Math.max(one.least, other.least), most: Math.max(one.most, other.most) }), NONE)

export const times = ({ least, most }: Span, factor: number): Span => ({ least: least * factor, most: most * factor })
