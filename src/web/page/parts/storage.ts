/** A list of texts that is kept in the browser; empty where it keeps nothing. */
export const readStored = (key: string): readonly string[] => {
  try {
    const list: unknown = JSON.parse(localStorage.getItem(key) ?? '[]')
    return Array.isArray(list) ? [...new Set(list.filter((one) => typeof one === 'string'))] : []
  } catch {
    return []
  }
}

/** A browser that refuses to keep a list is no error. */
export const store = (key: string, list: readonly string[]): void => {
  try {
    localStorage.setItem(key, JSON.stringify(list))
  } catch {
    // What was kept before stays.
  }
}
