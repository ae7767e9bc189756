import { join } from 'node:path'
import { firstValueFrom } from 'rxjs'
import { folder } from '../../sinks/folder.js'
import { FORMER_STOCKS_FILE, parseFormerStocks } from '../market/former-stocks.js'
import { type FormerEntry, readStoredStocks } from '../market/listings.js'
import { toFormerName, toStockItems } from '../model/stock.js'
import { toDay } from '../model/trading-day.js'
import { disk } from '../storage/disk.js'
import { readStateDocument, statFile } from '../storage/file-system.js'

/** The candles under the name of a former stock. */
const FOLDER = 'ohlcv_data'
const FORMER_FILE = /^((.+)~([A-Z0-9]{12}))\.csv$/

/**
 * The unlisted stocks with candles under the name of a former one, as far as they are not known: a folder may
 * have lost the document of former stocks. The names of their companies are not known.
 */
const findFormerCandles = async (
  root: string,
  known: readonly FormerEntry[],
): Promise<readonly FormerEntry[]> => {
  const names = new Set(known.map(toFormerName))
  const files = (await disk.readdir(join(root, FOLDER)).catch(() => [])).flatMap((file) => {
    const [, name = '', symbol = '', ISIN = ''] = FORMER_FILE.exec(file) ?? []
    return name === '' || names.has(name) ? [] : [{ file, name, symbol, ISIN }]
  })
  if (files.length === 0) return []
  const { stored } = folder(root)
  const items = toStockItems(await firstValueFrom(readStoredStocks(stored)))
  const entries: FormerEntry[] = []
  for (const { file, name, symbol, ISIN } of files) {
    if (items.some(({ value }) => value.ISIN === ISIN)) continue
    const tail = await firstValueFrom(stored.tail(`${FOLDER}/${file}`)).catch(() => undefined)
    const seconds = Number.parseInt(tail?.lines.at(-1) ?? '', 10)
    const fileName = items.some((item) => item.fileName === symbol) ? symbol : name
    const stock = { Symbol: symbol, ISIN, Name: '', Sid: '' }
    if (!Number.isNaN(seconds)) entries.push({ stock, fileName, until: toDay(seconds * 1_000) })
  }
  return entries
}

/** The stocks that left the master list of a folder, the earliest first. */
export const readFormerList = async (
  root: string,
  warn?: (text: string) => void,
): Promise<readonly FormerEntry[]> => {
  const path = join(root, FORMER_STOCKS_FILE)
  // A damaged document is undefined, one that cannot be read an error: both are warned of.
  const document = await readStateDocument(path).catch(() => undefined)
  if (document === undefined && statFile(path))
    warn?.(
      `${FORMER_STOCKS_FILE} cannot be read: candles of a former symbol may count as those of another stock`,
    )
  const known = parseFormerStocks(document)
  const found = await findFormerCandles(root, known)
  return found.length === 0
    ? known
    : [...known, ...found].sort((one, other) =>
        one.until < other.until ? -1 : Number(one.until > other.until),
      )
}
