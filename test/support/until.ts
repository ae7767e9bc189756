/** Waits for something that other turns of the event loop bring about. @throws if it does not come about */
export const until = async (what: string, isSo: () => boolean | Promise<boolean>): Promise<void> => {
  for (let turn = 0; turn < 50_000; turn += 1) {
    if (await isSo()) return
    await new Promise((resolve) => setImmediate(resolve))
  }
  throw new Error(`never came about: ${what}`)
}
