// Memory over time: bytes that are allocated, by group, in as many steps as the picture has columns.

export interface Events {
  /** ascending */
  place: Float64Array;
  group: Uint16Array;
  bytes: Float64Array;
}

/** Beginnings and ends of allocations as one sorted list of changes. `groupOf` returns -1 for what is left out. */
export function eventsOf(
  begin: ArrayLike<number>,
  end: ArrayLike<number>,
  size: ArrayLike<number>,
  placeOf: (operation: number) => number,
  groupOf: (bar: number) => number,
): Events {
  const rows: [number, number, number][] = [];
  for (let bar = 0; bar < begin.length; bar++) {
    const group = groupOf(bar);
    if (group < 0 || !size[bar]) continue;
    rows.push([placeOf(begin[bar]), group, size[bar]]);
    if (end[bar] >= 0) rows.push([placeOf(end[bar]), group, -size[bar]]);
  }
  rows.sort((a, b) => a[0] - b[0]);
  return {
    place: Float64Array.from(rows, (row) => row[0]),
    group: Uint16Array.from(rows, (row) => row[1]),
    bytes: Float64Array.from(rows, (row) => row[2]),
  };
}

/**
 * For each column of [begin, end) the bytes of each group at the moment when all groups together were highest there:
 * `columns * groups` numbers, column by column. So no peak is lost between two columns.
 */
export function peaks(events: Events, groups: number, begin: number, end: number, columns: number): Float64Array {
  const result = new Float64Array(columns * groups);
  const now = new Float64Array(groups);
  let total = 0;
  let at = 0;
  const apply = () => {
    now[events.group[at]] += events.bytes[at];
    total += events.bytes[at];
    at++;
  };
  while (at < events.place.length && events.place[at] < begin) apply();
  for (let column = 0; column < columns; column++) {
    const limit = begin + ((column + 1) * (end - begin)) / columns;
    let highest = total;
    result.set(now, column * groups);
    while (at < events.place.length && events.place[at] < limit) {
      apply();
      // Changes at one place are one: what a free gives back an allocation there may take.
      const last = at === events.place.length || events.place[at] !== events.place[at - 1];
      if (last && total > highest) {
        highest = total;
        result.set(now, column * groups);
      }
    }
  }
  return result;
}
