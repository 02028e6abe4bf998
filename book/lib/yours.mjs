// "Yours beside ours": the rows of a reader's JSON beside those of results/ at the same sizes.

const keyOf = (row) => `${row.problem}|${row.name}|${Object.entries(row.sizes ?? {}).sort().join()}`

// The runs of what a program writes (--json) or `make bench` does; throws an Error that can be shown.
export function runsOf(text) {
  let data
  try {
    data = JSON.parse(text)
  } catch (error) {
    throw new Error(`this is no JSON: ${error.message}`)
  }
  const runs = data?.runs ? Object.values(data.runs) : [data]
  if (!runs.every((run) => Array.isArray(run?.rows) && run.rows.every((row) => row?.problem && row?.name))) {
    throw new Error('this JSON is none that a program of the tutorial writes: it has no rows with a problem and a name')
  }
  return runs
}

// { lines: [{ row, ours }], alone }: each row that was timed, with ours or null.
export function beside(runs, ours) {
  const known = new Map(ours.map((row) => [keyOf(row), row]))
  const timed = runs.flatMap((run) => run.rows).filter((row) => row.median_ms > 0)
  const lines = timed.map((row) => ({ row, ours: known.get(keyOf(row)) ?? null }))
  return { lines, alone: lines.filter((line) => !line.ours).length }
}
