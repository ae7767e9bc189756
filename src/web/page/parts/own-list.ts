import { readStored, store } from './storage.js'

/** The list of stocks that is kept in the browser. */
const KEY = 'own-stocks'
const MAX = 200

export const readOwnList = (): readonly string[] => readStored(KEY).slice(0, MAX)

/** Adds a stock, or removes it if it is there. */
export const toggleOwn = (symbol: string): void => {
  const list = readOwnList()
  store(KEY, list.includes(symbol) ? list.filter((one) => one !== symbol) : [...list, symbol])
}
