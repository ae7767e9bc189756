import { createRequire } from 'node:module'
import { UsageError } from '../model/errors.js'

/** BullMQ and the Redis client: optional packages, loaded only for a fleet. */
export interface Packages {
  readonly bullmq: typeof import('bullmq')
  readonly Redis: typeof import('ioredis').Redis
}

// `import()` would scan hundreds of CommonJS files for export names first, which takes 50 % longer.
const require = createRequire(import.meta.url)

/** @throws UsageError if a package is not installed */
export const loadPackages = async (): Promise<Packages> => {
  try {
    const { Redis } = require('ioredis') as typeof import('ioredis')
    return { bullmq: require('bullmq') as Packages['bullmq'], Redis }
  } catch (error) {
    throw new UsageError('a fleet needs two packages that are not installed: npm install bullmq@6.7.0 ioredis@6.0.0', { cause: error })
  }
}
