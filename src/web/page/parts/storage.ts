/** A list of texts that is kept in the browser; empty where it keeps nothing. */
export const readStored = (key: string, storage = localStorage): readonly string[] => {
  try {
    const list: unknown = JSON.parse(storage.getItem(key) ?? '[]')
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

/** The list of stocks that is kept in the browser. */
const OWN_STOCKS = 'own-stocks'
const MAX_OWN = 200

export const readOwnList = (): readonly string[] => readStored(OWN_STOCKS).slice(0, MAX_OWN)

/** Adds a stock, or removes it if it is there. */
export const toggleOwn = (symbol: string): void => {
  const list = readOwnList()
  store(OWN_STOCKS, list.includes(symbol) ? list.filter((one) => one !== symbol) : [...list, symbol])
}
