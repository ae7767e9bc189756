/** The value of a key; created and stored if it is missing. */
export const getOrAdd = <K, V extends object>(
  map: Pick<Map<K, V>, 'get'> & { set(key: K, value: V): unknown },
  key: K,
  create: () => V,
): V => {
  const known = map.get(key)
  if (known !== undefined) return known
  const created = create()
  map.set(key, created)
  return created
}

/** The elements of a list by a key, in the order of the list. */
export const groupBy = <T>(
  list: Iterable<T>,
  keyOf: (element: T) => string,
): ReadonlyMap<string, readonly T[]> => {
  const groups = new Map<string, T[]>()
  for (const element of list) {
    const key = keyOf(element)
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [element])
    else group.push(element)
  }
  return groups
}

/** The upper one of two; 1 without any: no factor. */
export const median = (values: ArrayLike<number>): number =>
  new Float64Array(values).sort()[values.length >> 1] ?? 1
