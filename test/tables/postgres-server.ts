export const SERVER = process.env.POSTGRES_TEST_URL ?? 'postgres://postgres@127.0.0.1:5432'

/** The rows of the last statement. */
export const run = async (
  database: string,
  ...statements: readonly string[]
): Promise<readonly Record<string, unknown>[]> => {
  const { default: connect } = await import('postgres')
  const client = connect(`${SERVER}/${database}`, { max: 1, connect_timeout: 2, onnotice: () => undefined })
  try {
    let rows: readonly Record<string, unknown>[] = []
    for (const statement of statements) rows = await client.unsafe(statement)
    return rows
  } finally {
    await client.end({ timeout: 1 })
  }
}

export const hasServer = await run('postgres', 'SELECT 1').then(
  () => true,
  () => false,
)

/** For the title of tests that need a server. */
export const SKIPPED = hasServer
  ? ''
  : ' (skipped: no PostgreSQL answers at POSTGRES_TEST_URL or 127.0.0.1:5432)'
