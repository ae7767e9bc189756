import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { extname, join, sep } from 'node:path'
import { StorageError } from '../../model/errors.js'
import { escapeMarkup } from '../../model/text.js'
import { readIsSimulated } from '../../storage/run-state.js'

/** A file of the page. */
export interface Asset {
  readonly type: string
  readonly bytes: Buffer
  readonly etag: string
}

const ASSET_TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
}

/**
 * The files of the page by the path of their request, read once: a request never opens a file by a name that
 * it brings. `command`: how the page is to write the command.
 * @throws StorageError if the page is not there
 */
export const readAssets = (folder: string, command: string): ReadonlyMap<string, Asset> => {
  try {
    const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(
      (name) => extname(name) in ASSET_TYPES,
    )
    const assets = new Map(
      names.map((name) => [`/${name.replaceAll(sep, '/')}`, readAsset(join(folder, name))]),
    )
    const page = assets.get('/index.html')
    if (page === undefined) return assets
    const withFacts = (facts: string): Asset =>
      toAsset(Buffer.from(String(page.bytes).replace('<html', `<html ${facts}`)), '.html')
    const typed = `data-command="${escapeMarkup(command)}"`
    return assets
      .set('/index.html', withFacts(typed))
      .set(SIMULATED_PAGE, withFacts(`${typed} data-simulated`))
  } catch (error) {
    throw new StorageError(
      `the files of the page are missing in ${folder}; install scripstream again, or build it`,
      { cause: error },
    )
  }
}

/** The page of simulated data. No path of a request has this name. */
const SIMULATED_PAGE = 'simulated'

const readAsset = (path: string): Asset => toAsset(readFileSync(path), extname(path))

const toAsset = (bytes: Buffer, extension: string): Asset => ({
  bytes,
  type: ASSET_TYPES[extension] ?? '',
  etag: `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 16)}"`,
})

/** The page, which says from its first line on that data is simulated. */
export const findPage = (assets: ReadonlyMap<string, Asset>, out: string): Asset | undefined =>
  assets.get(readIsSimulated(out) ? SIMULATED_PAGE : '/index.html')
