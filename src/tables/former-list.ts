import { join } from 'node:path'
import { firstValueFrom } from 'rxjs'
import { folder } from '../../sinks/folder.js'
import { addFormerFiles, FORMER_STOCKS_FILE, parseFormerStocks } from '../market/former-stocks.js'
import type { FormerEntry } from '../market/listings.js'
import { readStateDocument, statFile } from '../storage/file-system.js'

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
  return firstValueFrom(addFormerFiles(known, folder(root).stored)).catch(() => known)
}
