import fc from 'fast-check'

// The same random cases in every run, so that a failure is that of a change; others with FUZZ_SEED.
fc.configureGlobal({ seed: Number(process.env.FUZZ_SEED ?? 1) })
