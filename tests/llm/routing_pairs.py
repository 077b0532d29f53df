"""Pairs of messages about one thing: the first is for the light model, the second for the strong one.

Written before llm.routing was, and not changed since. What makes a message strong: it wants several things weighed
against each other, planned, explained, compared, designed, debugged or written with care. Light: one small thing to be
done or said.
"""

from typing import NamedTuple


class Pair(NamedTuple):
    language: str
    light: str
    strong: str


PAIRS = (
    # the two of the issue
    Pair("en", "Add bread", "Reorganise my week's tasks by priority"),
    Pair("de", "Brot hinzufügen", "Ordne meine Aufgaben der Woche nach Priorität neu"),
    # English
    Pair("en", "Add bread to my list", "Plan a week of vegetarian dinners for four people under 80 euros"),
    Pair("en", "What time is it in Tokyo?", "Find a meeting slot that works for Tokyo, Berlin and San Francisco"),
    Pair("en", "Remind me at six", "Work out a revision schedule for my three exams in January"),
    Pair("en", "Thanks, that's great", "Write a thank-you letter to my team that names what each of them did"),
    Pair("en", "Delete the last entry", "Find duplicate or contradictory entries in my notes and merge them"),
    Pair("en", "How tall is the Eiffel Tower?", "Compare the engineering of the Eiffel Tower with modern skyscrapers"),
    Pair("en", "Turn on the lights", "Design lighting scenes for my living room depending on time and weather"),
    Pair("en", "Call mum tomorrow", "Draft a difficult email to my landlord about the unpaid repairs"),
    Pair("en", "Is it raining?", "Explain how weather models turn observations into a forecast"),
    Pair("en", "Book table for two", "Suggest a three-day itinerary through Lisbon with children, no car"),
    Pair("en", "Yes, please", "Weigh the advantages and risks of accepting the offer against staying"),
    Pair("en", "Mark the report done", "Summarise the report's arguments and criticise its methodology"),
    Pair("en", "What does serendipity mean?", "Analyse how the narrator's reliability changes throughout the novel"),
    Pair("en", "Next one", "Estimate how much solar capacity our roof needs, including storage losses"),
    # German
    Pair("de", "Brot auf die Liste", "Plane eine Woche vegetarische Abendessen für vier Personen unter 80 Euro"),
    Pair("de", "Wie spät ist es in Tokio?", "Finde einen Termin, der für Tokio, Berlin und San Francisco passt"),
    Pair("de", "Erinnere mich um sechs", "Erstelle einen Lernplan für meine drei Prüfungen im Januar"),
    Pair("de", "Danke, super", "Schreibe meinem Team einen Dankesbrief, der jeden Beitrag einzeln würdigt"),
    Pair("de", "Lösch den letzten Eintrag", "Finde doppelte oder widersprüchliche Notizen und führe sie zusammen"),
    Pair("de", "Wie hoch ist der Eiffelturm?", "Vergleiche die Konstruktion des Eiffelturms mit modernen Hochhäusern"),
    Pair("de", "Licht an", "Entwirf Lichtszenen für mein Wohnzimmer, abhängig von Uhrzeit und Wetter"),
    Pair("de", "Morgen Mama anrufen", "Formuliere eine heikle Mail an meinen Vermieter wegen der Reparaturen"),
    Pair("de", "Regnet es gerade?", "Erkläre, wie Wettermodelle aus Beobachtungen eine Vorhersage berechnen"),
    Pair("de", "Tisch für zwei", "Schlag eine dreitägige Route durch Lissabon mit Kindern ohne Auto vor"),
    Pair("de", "Ja, bitte", "Wäge Vorteile und Risiken des Angebots gegen den Verbleib ab"),
    Pair("de", "Bericht ist fertig", "Fasse die Argumente des Berichts zusammen und kritisiere seine Methodik"),
    Pair("de", "Was heißt Serendipität?", "Analysiere, wie sich die Zuverlässigkeit des Erzählers im Roman verändert"),
    Pair("de", "Das nächste", "Schätze, wie viel Photovoltaik unser Dach braucht, Speicherverluste eingerechnet"),
    # Turkish
    Pair("tr", "Listeye ekmek ekle", "Haftalık görevlerimi önceliğe göre yeniden düzenle"),
    Pair("tr", "Saat kaç?", "Üç sınavım için ocak ayına kadar gerçekçi bir çalışma planı hazırla"),
    Pair("tr", "Teşekkürler", "Bu iki sözleşmenin farklarını karşılaştır ve riskleri açıkla"),
    Pair("tr", "Tamam, olur", "bu hata neden oluyor?\n\n2026-11-30 09:14:02 ERROR worker.py:88 ConnectionError: Error 111 "
         "connecting to 127.0.0.1:6379\n  File \"/srv/app/worker.py\", line 88, in poll\n    await redis.ping()"),
    # Russian
    Pair("ru", "Добавь хлеб", "Перераспредели мои задачи на неделю по приоритету"),
    Pair("ru", "Сколько времени?", "Составь реалистичный план подготовки к трём экзаменам до января"),
    Pair("ru", "Спасибо большое", "Сравни условия обоих договоров и объясни возможные риски"),
    Pair("ru", "Напомни в шесть", "Объясни, почему инфляция замедляется, хотя заработные платы растут"),
    # Chinese
    Pair("zh", "加面包", "按优先级重新安排我这一周的任务"),
    Pair("zh", "现在几点？", "为我一月份的三门考试制定一个切实可行的复习计划"),
    Pair("zh", "谢谢你", "比较这两份合同的条款并说明可能存在的风险"),
    Pair("zh", "六点提醒我", "分析为什么工资上涨而通货膨胀却在放缓"),
    # Spanish
    Pair("es", "Añade pan", "Reorganiza las tareas de mi semana por prioridad"),
    Pair("es", "¿Qué hora es?", "Prepara un plan de estudio realista para mis tres exámenes de enero"),
    Pair("es", "Muchas gracias", "Compara las cláusulas de ambos contratos y explica los riesgos"),
    Pair("es", "Recuérdamelo a las seis", "Explica por qué la inflación se frena aunque suban los salarios"),
    # any language: what makes it strong is what stands below the question
    Pair("de", "Was bedeutet das?", "Was bedeutet das?\n\nTraceback (most recent call last):\n  File \"main.py\", line 12, in "
         "<module>\n    run()\nKeyError: 'lane'"),
    Pair("en", "Fix it", "Fix it\n```python\ndef mean(xs):\n    return sum(xs) / len(xs)\n```"),
)  # fmt: skip
