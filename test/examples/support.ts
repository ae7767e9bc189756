import { type Fault, type Simulator, serveSimulator } from 'scripstream/simulator'
import { streams } from 'scripstream/streams'
import { onTestFinished } from 'vitest'

/** A simulated provider with 20 stocks, until the test ends. */
export const serveProvider = async (faults: readonly Fault[] = []): Promise<Simulator> => {
  const provider = await serveSimulator({
    endpoints: streams.flatMap(({ endpoints }) => endpoints),
    stocks: 20,
    faults,
  })
  onTestFinished(() => provider.close())
  return provider
}
