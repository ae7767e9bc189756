import { createRequire } from 'node:module'
import { UsageError } from '../model/errors.js'

/** The queue and its client, which are loaded only where a fleet is wanted. */
export interface Packages {
  readonly bullmq: typeof import('bullmq')
  readonly Redis: typeof import('ioredis').Redis
}

// An import would look through their hundreds of CommonJS files for names first: half as long again.
const require = createRequire(import.meta.url)

export const loadPackages = async (): Promise<Packages> => {
  try {
    const { Redis } = require('ioredis') as typeof import('ioredis')
    return { bullmq: require('bullmq') as Packages['bullmq'], Redis }
  } catch (error) {
    throw new UsageError('a fleet needs two packages that are not installed: npm install bullmq@6.7.0 ioredis@6.0.0', { cause: error })
  }
}
