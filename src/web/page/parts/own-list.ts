/** The list of stocks that is kept in the browser. */
const KEY = 'own-stocks'
const MAX = 200

export const readOwnList = (): readonly string[] => {
  try {
    const list: unknown = JSON.parse(localStorage.getItem(KEY) ?? '[]')
    return Array.isArray(list) ? [...new Set(list.filter((one) => typeof one === 'string'))].slice(0, MAX) : []
  } catch {
    return []
  }
}

/** Adds a stock, or removes it if it is there. */
export const toggleOwn = (symbol: string): void => {
  const list = readOwnList()
  localStorage.setItem(KEY, JSON.stringify(list.includes(symbol) ? list.filter((one) => one !== symbol) : [...list, symbol]))
}
