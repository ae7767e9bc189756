import { describe, expect, it, onTestFinished } from 'vitest'
import { serveFolder } from '../support/browser.js'
import { temporaryFolder } from '../support/folders.js'

describe('the server of the page', () => {
  it('answers every path that is not of the API with the page', async () => {
    const server = await serveFolder(temporaryFolder())
    onTestFinished(() => server.close())
    for (const path of ['/', '/runs', '/stock/M%26M']) {
      const response = await fetch(server.origin + path)
      expect(await response.text()).toContain('<script type="module" src="/page.js">')
    }
  })
})
