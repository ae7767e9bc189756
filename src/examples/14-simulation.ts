/**
 * Daily runs with everything that can go wrong, on virtual time: outages, wrong answers, full disks, kills,
 * power cuts. Works with any test runner.
 */
import { marketNews, masterData } from 'scripstream/streams'
import { type SimulationResult, simulate } from 'scripstream/testing'

/**
 * Rejects with a `SimulationError` if a file ends up wrong, or if something is requested twice; the seed that
 * it names repeats it.
 */
export const testMarketNewsThroughFaults = (seeds = 20): Promise<SimulationResult> =>
  simulate({ seed: 1, seeds, streams: [masterData, marketNews] })
