import { fileURLToPath } from 'node:url'
import { type PageServer, type PageServerOptions, servePage } from '../../src/web/server/serve.js'
import { streams } from '../../streams/registry.js'

/** The built page. */
export const PAGE_FOLDER = fileURLToPath(new URL('../../dist/bundle/web', import.meta.url))

/** Serves the page on a folder, at any free port. */
export const serveFolder = (out: string, changes: Partial<PageServerOptions> = {}): Promise<PageServer> =>
  servePage({ out, exchange: 'NSE', streams, version: '1.2.3', pageFolder: PAGE_FOLDER, port: 0, ...changes })
