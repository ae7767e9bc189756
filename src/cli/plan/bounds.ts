/** A number known by its bounds; both are the same if it is exact. */
export interface Bounds {
  readonly least: number
  readonly most: number
}

export const ZERO_BOUNDS: Bounds = { least: 0, most: 0 }

export const addBounds = (one: Bounds, other: Bounds): Bounds => ({ least: one.least + other.least, most: one.most + other.most })

export const sumBounds = (all: Iterable<Bounds>): Bounds => [...all].reduce(addBounds, ZERO_BOUNDS)

/** The maximum of each bound. */
export const maxBounds = (all: Iterable<Bounds>): Bounds =>
  [...all].reduce((one, other) => ({ least: Math.max(one.least, other.least), most: Math.max(one.most, other.most) }), ZERO_BOUNDS)

export const scaleBounds = ({ least, most }: Bounds, factor: number): Bounds => ({ least: least * factor, most: most * factor })
