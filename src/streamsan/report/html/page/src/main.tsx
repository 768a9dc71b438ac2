import { render } from "preact";
import { App } from "./app.tsx";
import { readReport } from "./report.ts";
import "./page.css";

render(<App report={readReport()} />, document.getElementById("page")!);
